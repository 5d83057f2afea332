import { grouped } from '@looseleaf/core/internal'
import { SingleBar } from 'cli-progress'
import type { TerminalStream } from './console.ts'

export interface ProgressOptions {
  /** Name of the work, such as `importing`. */
  readonly label: string
  /** Noun of the count, such as `lines`. */
  readonly unit: string
}

/** Shows the progress of long work: on a terminal as a bar that disappears at the end, elsewhere as a line every five seconds. */
export interface Progress {
  /** `done` is in the unit. `fraction` is from 0 to 1; undefined while the end is unknown. `detail` is appended. */
  update(done: number, fraction: number | undefined, detail?: string): void
  /** Hides the bar while `write` writes lines of its own. */
  aside(write: () => void): void
  stop(): void
}

interface BarState {
  readonly done: number
  readonly known: boolean
  readonly detail: string | undefined
}

const STEPS = 1000

/** Milliseconds between two lines of a log. */
const LINE_MS = 5_000

export const noProgress: Progress = {
  update: () => undefined,
  aside: (write) => write(),
  stop: () => undefined,
}

/** Writes a line every five seconds. `elapsed` returns milliseconds of a monotonic clock. */
export function createProgressLines(
  { label, unit }: ProgressOptions,
  write: (line: string) => void,
  elapsed: () => number,
): Progress {
  // Work that ends within five seconds writes no line.
  let writtenAt = elapsed()
  return {
    ...noProgress,
    update(done, fraction, detail) {
      if (elapsed() - writtenAt < LINE_MS) return
      writtenAt = elapsed()
      write(`${label} ${textOf(done, unit, fraction, detail)}`)
    },
  }
}

function textOf(
  done: number,
  unit: string,
  fraction: number | undefined,
  detail: string | undefined,
): string {
  const share = fraction === undefined ? '' : `${Math.floor(fraction * 100)}% `
  return `${share}${grouped(done)} ${unit}${detail ? `, ${detail}` : ''}`
}

export function createProgressBar(stream: TerminalStream, { label, unit }: ProgressOptions): Progress {
  const bar = new SingleBar({
    stream,
    clearOnComplete: true,
    hideCursor: true,
    // The command handles Ctrl-C itself and stops the bar.
    gracefulExit: false,
    format: (shape, { progress }, { done, known, detail }: BarState) => {
      const width = 30
      const filled = known ? Math.round(progress * width) : 0
      const drawn = `${(shape.barCompleteString ?? '').slice(0, filled)}${(shape.barIncompleteString ?? '').slice(0, width - filled)}`
      const text = textOf(done, unit, known ? progress : undefined, detail)
      return `${label} ${known ? drawn : '…'} ${text}`
    },
    barCompleteChar: '█',
    barIncompleteChar: '░',
  })
  let step = 0
  let state: BarState = { done: 0, known: false, detail: undefined }
  bar.start(STEPS, step, state)
  return {
    update(done, fraction, detail) {
      step = Math.round(Math.min(1, fraction ?? 0) * STEPS)
      state = { done, known: fraction !== undefined, detail }
      bar.update(step, state)
    },
    aside(write) {
      bar.stop()
      write()
      bar.start(STEPS, step, state)
    },
    stop: () => bar.stop(),
  }
}
