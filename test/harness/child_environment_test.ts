import { assertEquals } from "@std/assert";
import { childEnvironment } from "../../src/harness/child_environment.ts";

const ALLOWED = {
  PATH: "/usr/bin",
  LANG: "de_DE.UTF-8",
  LC_ALL: "C",
  LC_TIME: "C",
  TZ: "UTC",
  TERM: "xterm",
  USER: "me",
  SSL_CERT_FILE: "/certs",
  NODE_EXTRA_CA_CERTS: "/extra",
  NO_PROXY: "localhost",
  https_proxy: "http://proxy:3128",
};

const KEPT_BACK = {
  AGENT_DAEMON_TOKEN: "canary",
  CREDENTIALS_DIRECTORY: "/run/credentials",
  NOTIFY_SOCKET: "/run/notify",
  LISTEN_FDS: "1",
  WATCHDOG_USEC: "1",
  CLAUDECODE: "1",
  CLAUDE_CODE_ENTRYPOINT: "cli",
  CLAUDE_CONFIG_DIR: "/home/me/.claude",
  CODEX_HOME: "/home/me/.codex",
  OPENAI_API_KEY: "canary",
  ANTHROPIC_API_KEY: "canary",
  AWS_SECRET_ACCESS_KEY: "canary",
  SSH_AUTH_SOCK: "/agent",
  LD_PRELOAD: "/evil.so",
  NODE_OPTIONS: "--require evil",
  HTTP_PROXY: "http://user:canary@proxy:3128",
  ALL_PROXY: "user@proxy",
  XDG_RUNTIME_DIR: "/run/user/1",
  TMPDIR: "/tmp",
  path: "/other",
};

Deno.test("A child inherits the allow-list and nothing else", () => {
  const environment = childEnvironment({
    source: { ...ALLOWED, ...KEPT_BACK },
    operatingSystem: "linux",
    home: "/state/home",
    temporaryDirectory: "/state/tmp",
  });
  assertEquals(environment, {
    ...ALLOWED,
    HOME: "/state/home",
    TMPDIR: "/state/tmp",
  });
});

Deno.test("A probe keeps the user's home", () => {
  const source = { HOME: "/home/me", PATH: "/bin" };
  assertEquals(
    childEnvironment({ source, operatingSystem: "darwin" }),
    source,
  );
});

Deno.test("An adapter's variables win, its directories come first on PATH", () => {
  const parts = {
    operatingSystem: "linux",
    pathPrefix: ["/opt/node/bin"],
    additions: { CODEX_HOME: "/state/codex", LANG: "C" },
  } as const;
  assertEquals(
    childEnvironment({ ...parts, source: { PATH: "/bin", LANG: "x" } }),
    { PATH: "/opt/node/bin:/bin", LANG: "C", CODEX_HOME: "/state/codex" },
  );
  assertEquals(
    childEnvironment({ ...parts, source: {} }).PATH,
    "/opt/node/bin",
  );
});

Deno.test("Windows names have no case, and its programs get what they fail without", () => {
  const source = {
    Path: "C:\\bin",
    SystemRoot: "C:\\Windows",
    PATHEXT: ".EXE",
    ComSpec: "cmd.exe",
    "ProgramFiles(x86)": "C:\\x86",
    USERPROFILE: "C:\\Users\\me",
    Secret: "canary",
  };
  assertEquals(
    childEnvironment({
      source,
      operatingSystem: "windows",
      home: "C:\\state",
      temporaryDirectory: "C:\\tmp",
      pathPrefix: ["C:\\node"],
    }),
    {
      Path: "C:\\node;C:\\bin",
      SystemRoot: "C:\\Windows",
      PATHEXT: ".EXE",
      ComSpec: "cmd.exe",
      "ProgramFiles(x86)": "C:\\x86",
      HOME: "C:\\state",
      USERPROFILE: "C:\\state",
      APPDATA: "C:\\state",
      LOCALAPPDATA: "C:\\state",
      TMP: "C:\\tmp",
      TEMP: "C:\\tmp",
    },
  );
});
