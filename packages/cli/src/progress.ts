import { SingleBar } from 'cli-progress'
import type { TerminalStream } from './console.ts'
import { grouped } from './text.ts'

export interface ProgressOptions {
  /** What is being done, such as `import`. */
  readonly label: string
  /** What is counted, such as `lines`. */
  readonly unit: string
}

/** How far long work has come, drawn on one line that is gone when the work is done. */
export interface Progress {
  /** `fraction` from 0 to 1, undefined where the end is not known; `done` in the unit. */
  update(done: number, fraction: number | undefined): void
  /** Runs what writes a line of its own, which would be lost in the bar. */
  aside(write: () => void): void
  stop(): void
}

const STEPS = 1000

export function createProgress(stream: TerminalStream, options: ProgressOptions, isShown: boolean): Progress {
  if (!isShown) return { update: () => undefined, aside: (write) => write(), stop: () => undefined }
  const { label, unit } = options
  const bar = new SingleBar({
    stream,
    clearOnComplete: true,
    hideCursor: true,
    // The command itself stops at Ctrl-C, and stops the bar.
    gracefulExit: false,
    format: (shape, { progress }, { done, known }: { done: number; known: boolean }) => {
      const width = 30
      const filled = known ? Math.round(progress * width) : 0
      const drawn = `${(shape.barCompleteString ?? '').slice(0, filled)}${(shape.barIncompleteString ?? '').slice(0, width - filled)}`
      const share = known ? ` ${Math.floor(progress * 100)}%` : ''
      return `${label} ${known ? drawn : '…'}${share} ${grouped(done)} ${unit}`
    },
    barCompleteChar: '█',
    barIncompleteChar: '░',
  })
  let step = 0
  let state = { done: 0, known: false }
  bar.start(STEPS, step, state)
  return {
    update(done, fraction) {
      step = Math.round(Math.min(1, fraction ?? 0) * STEPS)
      state = { done, known: fraction !== undefined }
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
