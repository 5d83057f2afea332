import { rewindText } from '@looseleaf/cleaner/internal'
import { ageOf, type Rule } from './facts.ts'

/** Milliseconds after a shard went back for which older consumers are findings, unless they have started over. */
export const CONSUMERS_NAMED_MS: number = 7 * 24 * 60 * 60_000

export const rewindRule: Rule = {
  name: 'shard went back',
  // Queries miss entities although they report `complete`.
  grade: 'act',
  see: 'Backups',
  find: ({ wentBack }) =>
    wentBack
      .filter(({ isSwept }) => !isSwept)
      .map(({ shard, ...times }) => ({
        about: `shard ${shard}`,
        problem: `${rewindText(times)}; queries may miss entities until all indexes are swept`,
        instruction:
          'run looseleaf clean --restart, or wait until a cleaner has swept; empty caches that processes share',
      })),
}

export const consumerRule: Rule = {
  name: 'consumer before restore',
  grade: 'look',
  see: 'Backups',
  find: (facts) => {
    const { consumers, wentBack } = facts
    const recent = wentBack.filter(
      ({ foundAt }) => (ageOf(new Date(foundAt), facts) ?? 0) < CONSUMERS_NAMED_MS,
    )
    const last = recent.toSorted((a, b) => b.foundAt - a.foundAt)[0]
    if (last === undefined) return []
    return consumers
      .filter(({ registeredAt }) => (registeredAt?.getTime() ?? 0) < last.foundAt)
      .map(({ name }) => ({
        about: `consumer ${name}`,
        problem: `may hold states of entities that shard ${last.shard} lost when it went back`,
        instruction: `if it keeps copies: run looseleaf consumer drop ${name}, empty its copy, and start it from the beginning`,
      }))
  },
}
