import { SingleBar } from 'cli-progress'
import type { PartName } from '../parts/part-names.ts'

/** How far a run has come: a bar on a terminal, lines elsewhere. */
export interface Progress {
  /** Part number `number` of all, counted from 0, begins. */
  part(number: number, name: PartName): void
  step(what: string): void
  /** Takes the bar away: what is written now stays. */
  stop(): void
}

export function createProgress(total: number): Progress {
  let name = ''
  if (process.stderr.isTTY !== true)
    return {
      part: (_, next) => void (name = next),
      step: (what) => console.error(`${name}: ${what}`),
      stop: () => undefined,
    }
  const bar = new SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    format: '{bar} {value}/{total} parts  {what}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
  })
  return {
    part(number, next) {
      name = next
      bar.start(total, number, { what: next })
    },
    step: (what) => bar.update({ what: `${name}: ${what}` }),
    stop: () => bar.stop(),
  }
}
