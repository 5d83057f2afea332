import { optionKinds, oneOf, wholeNumber, type OptionKind, type OptionKinds } from '@looseleaf/core/internal'
import type { SqliteShardsOptions } from './sqlite-shards.ts'

/** Kind of the number of shards of a folder or of a driver in memory. */
export const shardCountKind: OptionKind = wholeNumber(1, 1_024)

export const sqliteOptions: OptionKinds<SqliteShardsOptions> = {
  folder: {
    expected: 'the path of a folder',
    fits: (folder) => typeof folder === 'string' && folder !== '' && !folder.includes('\0'),
  },
  shards: shardCountKind,
  create: optionKinds.flag,
  durability: oneOf('full', 'normal'),
  deadlineMs: {
    expected: 'a positive number of milliseconds',
    fits: (value) => Number.isFinite(value) && (value as number) > 0,
  },
  entityTable: optionKinds.elsewhere,
}
