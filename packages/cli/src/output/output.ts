import { once } from 'node:events'
import { platformTime } from '@looseleaf/core/internal'
import Table from 'cli-table3'
import pc from 'picocolors'
import type { Console } from './console.ts'
import {
  createProgressBar,
  createProgressLines,
  noProgress,
  type Progress,
  type ProgressOptions,
} from './progress.ts'
import { printable } from './text.ts'

/** Prints the results of a command: tables and sentences for people, or one JSON value for programs. */
export interface Output {
  /** True with `--json`. */
  readonly json: boolean
  readonly colors: Colors
  /** Columns of the terminal; 100 without a terminal. */
  readonly width: number
  /** Prints the result of the command, once: the value as JSON with `--json`, otherwise the text. */
  result(value: unknown, text: () => string): void
  /** Prints a remark for people on stderr; nothing with `--json`. */
  note(text: string): void
  warn(text: string): void
  /** Writes raw text to stdout and waits for a slow reader. Rejects when the command is stopped or stdout cannot be written. */
  write(text: string): Promise<void>
  /** Resolves when stdout has accepted all text. Rejects like `write`. */
  flush(): Promise<void>
  table(head: readonly string[], rows: readonly (readonly string[])[]): string
  /** Shows progress on stderr: a bar on a terminal, a line every five seconds elsewhere, nothing with `--json`. */
  progress(options: ProgressOptions): Progress
}

export type Colors = ReturnType<typeof pc.createColors>

export function createOutput(console: Console, json: boolean): Output {
  const { stdout, stderr, env } = console
  const isTerminal = stdout.isTTY === true
  const colors = pc.createColors(isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb')
  const width = stdout.columns ?? 100
  const note = (text: string): void => {
    if (!json) stderr.write(`${text}\n`)
  }
  return {
    json,
    colors,
    width,
    note,
    warn: (text) => note(`${colors.yellow('Warning:')} ${printable(text)}`),
    result(value, text) {
      stdout.write(`${json ? JSON.stringify(value) : text()}\n`)
    },
    async write(text) {
      console.signal.throwIfAborted()
      if (!stdout.write(text)) await once(stdout, 'drain', { signal: console.signal })
    },
    async flush() {
      const error = await new Promise((resolve) => stdout.write('', resolve))
      if (!error) return
      // The stream emits `error` after this callback. A listener then aborts the signal with an `OutputError`.
      await new Promise((resolve) => platformTime.setImmediate(resolve))
      throw error as Error
    },
    table(head, rows) {
      const table = new Table({
        head: head.map((cell) => colors.dim(cell)),
        chars: NO_FRAME,
        style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
      })
      table.push(...rows.map((row) => row.map(printable)))
      return table
        .toString()
        .split('\n')
        .map((line) => line.trimEnd())
        .join('\n')
    },
    progress(options) {
      if (json) return noProgress
      if (stderr.isTTY === true) return createProgressBar(stderr, options)
      return createProgressLines(options, (line) => stderr.write(`${line}\n`), platformTime.elapsed)
    },
  }
}

const FRAME =
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'

/** Two spaces between columns, and no lines. */
const NO_FRAME = { ...Object.fromEntries(FRAME.split(' ').map((part) => [part, ''])), middle: '  ' }
