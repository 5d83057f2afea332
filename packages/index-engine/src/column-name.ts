import { createHash } from 'node:crypto'

/** Columns that every index table has besides its properties. */
const TAKEN = new Set(['entity_id', 'version'])
const PLAIN = /^[a-z][a-z0-9_]{0,54}$/
const LOOKS_DERIVED = /_[0-9a-f]{8}$/
const STEM_LENGTH = 40

/**
 * The SQL column of a property: a name such as `user_id` as it is, any other as what is readable of it and eight digits
 * of its SHA-256 (`userId` gives `userid_6ccb2121`), because column names ignore case and end at 64 characters.
 * It depends on the property alone and never changes: tables are made with it. It may be a word of SQL, so it is quoted.
 */
export function columnName(property: string): string {
  if (PLAIN.test(property) && !TAKEN.has(property) && !LOOKS_DERIVED.test(property)) return property
  const readable = property.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
  const stem = readable.replace(/^[^a-z]+/, '').replace(/_+$/, '')
  const digits = createHash('sha256').update(property, 'utf8').digest('hex').slice(0, 8)
  return `${stem === '' ? 'property' : stem.slice(0, STEM_LENGTH)}_${digits}`
}
