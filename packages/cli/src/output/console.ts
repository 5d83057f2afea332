import type { Readable, Writable } from 'node:stream'

/** The environment of the command: streams, variables, folder and signal. Tests pass their own. */
export interface Console {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: TerminalStream
  readonly stderr: TerminalStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Aborts when the user stops the command, and with an `OutputError` when stdout cannot be written. */
  readonly signal: AbortSignal
}

export type TerminalStream = Writable & { readonly isTTY?: boolean; readonly columns?: number }
