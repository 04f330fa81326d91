// Owns every size, count and range of the wire, each with the place where it applies. Timers are
// not here: they belong to the owners that run them.

const KIB = 1024;
const MIB = 1024 * KIB;

/** Bytes of one connection frame, either direction. */
export const MAX_FRAME_BYTES = 4 * MIB;
/** Bytes of a request trace that a `workspace_read_result` may repeat. */
export const MAX_REPEATED_TRACE_BYTES = 256;

/** Bytes of an operation id (`workspace_read`, `workspace_export`) and of a suspension request id. */
export const MAX_OPERATION_ID_BYTES = 128;
/** Bytes of a handle or Environment id in a `workspace_export` begin. */
export const MAX_EXPORT_IDENTITY_BYTES = 128;
/** Bytes of a `suspend_id`. */
export const MAX_SUSPEND_ID_BYTES = 128;
/** Bytes of an `input_id`. */
export const MAX_INPUT_ID_BYTES = 256;

/** Bytes of a `harness_config` object as received. */
export const MAX_HARNESS_CONFIG_BYTES = 16 * KIB;
/** Bytes of a model provider's API key. */
export const MAX_API_KEY_BYTES = 16 * KIB;

/** Bytes of a file or archive in `runtime_prepare` and `workspace_write`. */
export const MAX_TRANSFER_BYTES = 50 * MIB;
/** Raw bytes of one transfer chunk or export chunk, before base64. */
export const MAX_CHUNK_BYTES = 64 * KIB;

/** Payload bytes of a `runtime_prepare` frame; the re-encoded header of a begin is held to it too. */
export const MAX_RUNTIME_PREPARE_PAYLOAD_BYTES = MIB;
/** Milliseconds a `runtime_prepare` begin may ask for. */
export const MAX_TRANSFER_BUDGET_MS = 30 * 60 * 1000;
/** Milliseconds of a transfer whose begin names no budget. */
export const DEFAULT_TRANSFER_BUDGET_MS = 120_000;
/** Highest plugin slot; the lowest is 0. */
export const MAX_PLUGIN_SLOT = 49;
/** Entries of each list of a capability selection. */
export const MAX_SOURCES = 50;
/** Variables of a `configure` initialization. */
export const MAX_INITIALIZATION_VARIABLES = 1000;
/** Packages of an `npm` or `python` initialization. */
export const MAX_INITIALIZATION_PACKAGES = 1000;
/** Bytes of a workspace path or a capability directory. */
export const MAX_PATH_BYTES = 4096;
/** Highest process exit code a result carries. */
export const MAX_EXIT_CODE = 255;

/** Payload bytes of a `workspace_read` request. */
export const MAX_WORKSPACE_READ_PAYLOAD_BYTES = 8 * KIB;
/** Bytes that one byte read may ask for. */
export const MAX_READ_BYTES = MIB;
/** Entries that one directory read may ask for. */
export const MAX_DIRECTORY_ENTRIES = 1024;
/** Bytes of one directory entry name. */
export const MAX_ENTRY_NAME_BYTES = 255;

/** Payload bytes of a `workspace_write` request. */
export const MAX_WORKSPACE_WRITE_PAYLOAD_BYTES = 96 * KIB;

/** Payload bytes of a `workspace_export` request. */
export const MAX_WORKSPACE_EXPORT_PAYLOAD_BYTES = 8 * KIB;
/** Bytes of a whole export. */
export const MAX_EXPORT_BYTES = 528 * MIB;
/** Bytes of one `workspace_export_result` frame. */
export const MAX_EXPORT_RESULT_BYTES = 96 * KIB;

/** Payload bytes of an `environment_resume` whose ids a refusal may repeat. */
export const MAX_ENVIRONMENT_RESUME_PAYLOAD_BYTES = KIB;
