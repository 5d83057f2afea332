import { quantile } from '../faults/quantile.ts'
import type { GrowthRecord } from './records.ts'

export interface MovesVerdict {
  readonly done: number
  readonly undone: number
  /** Groups that were handed over, and the times of their seals in milliseconds. */
  readonly groups: number
  readonly sealP50: number
  readonly sealP99: number
  readonly sealWorst: number
  /** Entities, index rows and claims that were copied, and per second of copying, by movers that were not interrupted. */
  readonly copied: number
  readonly copiedPerSecond: number
}

export function judgeMoves(histories: Iterable<readonly GrowthRecord[]>): MovesVerdict {
  const states = new Map<number, string>()
  const seals: number[] = []
  let [copied, copyingUs] = [0, 0]
  for (const records of histories) {
    let beganAt: number | undefined
    let before = 0
    for (const record of records) {
      if (record.kind === 'moved') states.set(record.move, record.state)
      if (record.kind === 'seal') seals.push(record.ms)
      if (record.kind !== 'step') continue
      if (record.step === 'copying') [beganAt, before] = [record.at, record.copied]
      else if (record.step === 'checking' && beganAt !== undefined) {
        copied += record.copied - before
        copyingUs += record.at - beganAt
        beganAt = undefined
      }
    }
  }
  const counted = (state: string): number => [...states.values()].filter((one) => one === state).length
  const sorted = seals.toSorted((a, b) => a - b)
  return {
    done: counted('done'),
    undone: counted('undone'),
    groups: sorted.length,
    sealP50: quantile(sorted, 0.5),
    sealP99: quantile(sorted, 0.99),
    sealWorst: sorted.at(-1) ?? 0,
    copied,
    copiedPerSecond: copyingUs === 0 ? 0 : Math.round(copied / (copyingUs / 1_000_000)),
  }
}
