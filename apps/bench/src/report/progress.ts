import { SingleBar } from 'cli-progress'
import type { PartName } from '../parts/part-names.ts'

/** Shows the progress of a run: a bar on a terminal, lines elsewhere. */
export interface Progress {
  /** Begins a part; `number` counts from 0. */
  part(number: number, name: PartName): void
  step(description: string): void
  /** Removes the bar, so that later output stays visible. */
  stop(): void
}

export function createProgress(total: number): Progress {
  let name = ''
  if (process.stderr.isTTY !== true)
    return {
      part: (_, next) => void (name = next),
      step: (description) => console.error(`${name}: ${description}`),
      stop: () => undefined,
    }
  const bar = new SingleBar({
    stream: process.stderr,
    clearOnComplete: true,
    hideCursor: true,
    format: '{bar} {value}/{total} parts  {step}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
  })
  return {
    part(number, next) {
      name = next
      bar.start(total, number, { step: next })
    },
    step: (description) => bar.update({ step: `${name}: ${description}` }),
    stop: () => bar.stop(),
  }
}
