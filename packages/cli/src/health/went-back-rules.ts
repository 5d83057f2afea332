import { wentBackText } from '@looseleaf/cleaner'
import { ageOf, type Rule } from './facts.ts'

/** Consumers are named for so long after a shard has gone back, unless they have begun anew. */
export const CONSUMERS_NAMED_MS: number = 7 * 24 * 60 * 60_000

export const wentBackRule: Rule = {
  name: 'shard went back',
  // Queries lack entities and say that they are complete.
  grade: 'act',
  see: 'Backups',
  find: ({ wentBack }) =>
    wentBack
      .filter(({ isSwept }) => !isSwept)
      .map(({ shard, ...times }) => ({
        about: `shard ${shard}`,
        what: `${wentBackText(times)}; queries may lack entities until all indexes were swept`,
        todo: 'run looseleaf clean --restart, or wait for the cleaner that does so; empty caches that processes share',
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
        what: `may keep states of entities that shard ${last.shard} has lost when it went back`,
        todo: `where it keeps copies: looseleaf consumer drop ${name}, empty its copy, and start it from the beginning`,
      }))
  },
}
