import { durationText } from '@looseleaf/core/internal'
import { ageOf, indexText, type Rule } from './facts.ts'

/** Milliseconds for which a refilled index stays a finding: the program that deleted its rows may do so again. */
export const EMPTIED_TABLES_NAMED_MS: number = 24 * 60 * 60_000

export const emptiedTablesRule: Rule = {
  name: 'emptied table',
  // Queries missed entities until the loss was found, and are refused until the index is filled.
  grade: 'act',
  see: 'Backups',
  find: (facts) =>
    facts.lostRows.map(({ index, generation, unique, shard, foundAt, isFilled }) => {
      const ageMs = ageOf(foundAt, facts) ?? 0
      if (isFilled && ageMs > EMPTIED_TABLES_NAMED_MS) return undefined
      const until = isFilled
        ? 'and was filled again'
        : unique
          ? 'and is being filled; until then entities may get keys that others have'
          : 'and is being filled; until then its queries are refused'
      return {
        about: indexText({ index, generation, unique }),
        problem: `its table on shard ${shard} lost rows, as by TRUNCATE or DELETE, which was found ${durationText(ageMs)} ago, ${until}`,
        instruction: isFilled
          ? 'find the program that writes past the store'
          : `run a cleaner, or: looseleaf clean --index ${index}; find the program that writes past the store`,
      }
    }),
}
