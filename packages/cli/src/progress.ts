import { SingleBar } from 'cli-progress'
import type { TerminalStream } from './console.ts'
import { grouped } from './text.ts'

export interface ProgressOptions {
  /** What is being done, such as `import`. */
  readonly label: string
  /** What is counted, such as `lines`. */
  readonly unit: string
}

/** How far long work has come: on a terminal, drawn on one line that is gone when the work is done; a line now and then elsewhere. */
export interface Progress {
  /** `fraction` from 0 to 1, undefined where the end is not known; `done` in the unit; `detail` is what else there is to say. */
  update(done: number, fraction: number | undefined, detail?: string): void
  /** Runs what writes a line of its own, which would be lost in the bar. */
  aside(write: () => void): void
  stop(): void
}

interface BarState {
  readonly done: number
  readonly known: boolean
  readonly detail: string | undefined
}

const STEPS = 1000

/** A log has a line for so much time, in milliseconds. */
const LINE_MS = 5_000

/** Without progress. */
export const noProgress: Progress = {
  update: () => undefined,
  aside: (write) => write(),
  stop: () => undefined,
}

/** `elapsed`: milliseconds by a clock that nobody sets. */
export function createProgressLines(
  { label, unit }: ProgressOptions,
  write: (line: string) => void,
  elapsed: () => number,
): Progress {
  // Work that is over within moments needs no word.
  let toldAt = elapsed()
  return {
    ...noProgress,
    update(done, fraction, detail) {
      if (elapsed() - toldAt < LINE_MS) return
      toldAt = elapsed()
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
    // The command itself stops at Ctrl-C, and stops the bar.
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
