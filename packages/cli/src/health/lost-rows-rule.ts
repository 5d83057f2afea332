import { durationText } from '../duration-text.ts'
import { ageOf, type Rule } from './facts.ts'

/** An index that was filled again is named for so long: rows went past the store, and may again. */
export const LOST_ROWS_NAMED_MS: number = 24 * 60 * 60_000

export const lostRowsRule: Rule = {
  name: 'lost rows',
  // Queries have missed entities until that was found, and are refused until the index is filled.
  grade: 'act',
  see: 'Backups',
  find: (facts) =>
    facts.lostRows.flatMap(({ index, generation, unique, shard, foundAt, isFilled }) => {
      const ageMs = ageOf(foundAt, facts) ?? 0
      if (isFilled && ageMs > LOST_ROWS_NAMED_MS) return []
      const about = `index ${index}${generation > 1 ? ` (generation ${generation})` : ''}${unique ? ' (unique)' : ''}`
      const until = isFilled
        ? 'and was filled again'
        : unique
          ? 'and is filled again; entities may be given keys that others have until then'
          : 'and is filled again; its queries are refused until then'
      return [
        {
          about,
          what: `its table on shard ${shard} had lost rows, as by TRUNCATE or DELETE, ${durationText(ageMs)} ago, ${until}`,
          todo: isFilled
            ? 'find out what has written past the store'
            : `run a cleaner, or: looseleaf clean --index ${index}; find out what has written past the store`,
        },
      ]
    }),
}
