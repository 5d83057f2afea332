import type { Readable, Writable } from 'node:stream'

/** What the command has of the world around it; a test gives its own. */
export interface Console {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: TerminalStream
  readonly stderr: TerminalStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Fires when the user wants the command to end; with the reason `READER_GONE` when nobody reads its output any more. */
  readonly signal: AbortSignal
}

/** Whoever read the output, such as `head`, has enough of it. That is no error. */
export const READER_GONE: unique symbol = Symbol('reader gone')

export type TerminalStream = Writable & { readonly isTTY?: boolean; readonly columns?: number }
