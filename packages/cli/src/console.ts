import type { Readable, Writable } from 'node:stream'

/** What the command has of the world around it; a test gives its own. */
export interface Console {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: TerminalStream
  readonly stderr: TerminalStream
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Fires when the user ends the command, and with an `OutputError` when stdout cannot be written. */
  readonly signal: AbortSignal
}

export type TerminalStream = Writable & { readonly isTTY?: boolean; readonly columns?: number }
