import { createHash } from 'node:crypto'

/** Columns that every index table has beside its properties. */
const TAKEN = new Set(['entity_id', 'version'])
const PLAIN = /^[a-z][a-z0-9_]{0,54}$/
const LOOKS_DERIVED = /_[0-9a-f]{8}$/
const STEM_LENGTH = 40

/**
 * Returns the SQL column of a property. A name such as `user_id` stays. Any other becomes its readable part and eight digits of its
 * SHA-256 (`userId` gives `userid_6ccb2121`), because column names ignore case and have at most 64 characters. The mapping is
 * stored in tables and must never change. The result may be a word of SQL, so drivers quote it.
 */
export function columnName(property: string): string {
  if (PLAIN.test(property) && !TAKEN.has(property) && !LOOKS_DERIVED.test(property)) return property
  const readable = property.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
  const stem = readable.replace(/^[^a-z]+/, '').replace(/_+$/, '')
  const digits = createHash('sha256').update(property, 'utf8').digest('hex').slice(0, 8)
  return `${stem === '' ? 'property' : stem.slice(0, STEM_LENGTH)}_${digits}`
}
