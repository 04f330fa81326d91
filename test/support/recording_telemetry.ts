import type {
  Attributes,
  CounterName,
  GaugeName,
  Span,
  SpanName,
  Telemetry,
} from "../../src/platform/telemetry.ts";

/** A span as it was begun, and how it ended. */
export interface RecordedSpan {
  readonly name: SpanName;
  readonly parent: string | undefined;
  readonly attributes: Attributes;
  readonly outcomes: string[];
}

/** Keeps everything for assertions; `text` is what a secret search greps. */
export class RecordingTelemetry implements Telemetry {
  readonly spans: RecordedSpan[] = [];
  readonly counts: {
    readonly name: CounterName;
    readonly by: number;
    readonly attributes: Attributes;
  }[] = [];
  readonly gauges = new Map<GaugeName, () => number>();

  begin(
    name: SpanName,
    parent: string | undefined,
    attributes: Attributes,
  ): Span {
    const outcomes: string[] = [];
    this.spans.push({ name, parent, attributes, outcomes });
    return { end: (outcome) => void outcomes.push(outcome) };
  }

  count(name: CounterName, by: number, attributes: Attributes): void {
    this.counts.push({ name, by, attributes });
  }

  observe(name: GaugeName, read: () => number): void {
    this.gauges.set(name, read);
  }

  /** Name and outcomes of each span of a name, such as `run completed`. */
  ended(name: SpanName): string[] {
    return this.spans.filter((span) => span.name === name)
      .map(({ outcomes }) => outcomes.join("+"));
  }

  /** `name attribute=value… by` for each count of a name. */
  counted(name: CounterName): string[] {
    return this.counts.filter((count) => count.name === name)
      .map(({ by, attributes }) =>
        [...Object.values(attributes), String(by)].join(" ")
      );
  }

  /** Everything that would leave the process. */
  get text(): string {
    return JSON.stringify([this.spans, this.counts]);
  }
}
