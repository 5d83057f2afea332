import { defineKind, deriveId, type ItemOf } from 'looseleaf'
import { z } from 'zod'

/** Longest e-mail address (RFC 5321). */
export const MAX_ADDRESS = 254

/** A password as argon2id with these parameters. The bytes are text in base64url. */
const passwordHash = z.object({
  tag: z.string(),
  nonce: z.string(),
  /** Memory in KiB. */
  memory: z.int(),
  passes: z.int(),
  parallelism: z.int(),
})

/**
 * The means by which a person signs in. It is apart from the person, because the site shows a person to everybody, and an account to
 * nobody.
 */
export const Account = defineKind('account', {
  schema: z.object({
    person_id: z.uuid(),
    /** E-mail address in lower case. No two accounts have the same. The site sends no mail, so it is unconfirmed. */
    address: z.string().max(MAX_ADDRESS).optional(),
    password: passwordHash,
    /** Time of the last change of the password. */
    changed: z.date(),
  }),
  near: 'person_id',
  indexes: {
    byAddress: { by: [{ address: { type: 'string', nulls: 'skip' } }], unique: true },
  },
})

export type Account = ItemOf<typeof Account>
export type PasswordHash = z.infer<typeof passwordHash>

/** Returns the id of a person's account. It is in the person's bucket. */
export function accountId(personId: string): string {
  return deriveId('account', personId, { near: personId })
}
