import { badOption, describeKind } from '@looseleaf/core/internal'

/** Tables that every shard has beside its entities. */
export const META_TABLE = 'looseleaf_meta'
export const TASK_TABLE = 'looseleaf_tasks'
export const PENDING_TABLE = 'looseleaf_pending'
export const CODEC_TABLE = 'looseleaf_codec'

/** Returns the name of the entity table if it is valid; throws `BAD_OPTION` otherwise. */
export function checkEntityTable(name: unknown): string {
  if (typeof name === 'string' && /^[a-z][a-z0-9_]{0,47}$/i.test(name) && !/^looseleaf_/i.test(name))
    return name
  throw badOption(
    `The option entityTable has to be a name of up to 48 letters, digits and underscores that begins with a letter, and not with looseleaf_; got ${describeKind(name)}.`,
  )
}
