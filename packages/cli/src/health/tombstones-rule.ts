import { durationText } from '@looseleaf/core/internal'
import type { Rule } from './facts.ts'

/** Finds a consumer that is so far behind that tombstones are kept only for it. */
export const tombstonesRule: Rule = {
  name: 'kept tombstones',
  grade: 'look',
  see: 'Consumers of changes',
  find: ({ consumers, policies }) =>
    consumers.map(({ name, shards }) => {
      const keptMs = policies?.keepTombstonesMs ?? Infinity
      const lags = shards.flatMap(({ error, lagMs }) => (error === undefined ? (lagMs ?? []) : []))
      const lagMs = Math.max(0, ...lags.filter(Number.isFinite))
      if (lagMs <= keptMs) return undefined
      return {
        about: `consumer ${name}`,
        problem: `is ${durationText(lagMs)} behind, so tombstones are kept for it beyond the ${durationText(keptMs)} of keepTombstonesMs, up to four times as long; after that it must start over`,
        instruction: `start it, or drop it: looseleaf consumer drop ${name}`,
      }
    }),
}
