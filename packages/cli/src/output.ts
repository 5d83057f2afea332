import { once } from 'node:events'
import { platformTime } from '@looseleaf/core'
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

/** Where a command's results go: tables and sentences for people, or one JSON value for programs. */
export interface Output {
  /** True with `--json`. */
  readonly json: boolean
  readonly colors: Colors
  /** Columns of the terminal; 100 where there is none. */
  readonly width: number
  /** The command's one result: its JSON with `--json`, the text otherwise. */
  result(value: unknown, text: () => string): void
  /** Something aside for people, on stderr; nothing with `--json`. */
  note(text: string): void
  /** Writes raw text to stdout, at the reader's pace. Rejects when the command is ended or stdout cannot be written. */
  write(text: string): Promise<void>
  /** Resolves when stdout has taken everything. Rejects as `write` does. */
  flush(): Promise<void>
  table(head: readonly string[], rows: readonly (readonly string[])[]): string
  /** On stderr: a bar on a terminal, a line every few seconds elsewhere, and nothing with `--json`. */
  progress(options: ProgressOptions): Progress
}

export type Colors = ReturnType<typeof pc.createColors>

export function createOutput(console: Console, json: boolean): Output {
  const { stdout, stderr, env } = console
  const isTerminal = stdout.isTTY === true
  const colors = pc.createColors(isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb')
  const width = stdout.columns ?? 100
  return {
    json,
    colors,
    width,
    result(value, text) {
      stdout.write(`${json ? JSON.stringify(value) : text()}\n`)
    },
    note(text) {
      if (!json) stderr.write(`${text}\n`)
    },
    async write(text) {
      console.signal.throwIfAborted()
      if (!stdout.write(text)) await once(stdout, 'drain', { signal: console.signal })
    },
    async flush() {
      const error = await new Promise((resolve) => stdout.write('', resolve))
      if (!error) return
      // The stream tells its listeners, who fire the signal, after it has called back.
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

const NO_FRAME = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}
