import { defineKind, type ItemOf } from 'looseleaf'
import { z } from 'zod'

export const NAME_LENGTH = { min: 2, max: 30 } as const
export const MAX_FULL_NAME = 40
export const MAX_BIO = 300

export const Person = defineKind('person', {
  schema: z.object({
    /** Name in addresses and for signing in: lower case letters, digits and hyphens. No two people have the same. */
    name: z
      .string()
      .min(NAME_LENGTH.min)
      .max(NAME_LENGTH.max)
      .regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/),
    full_name: z.string().min(1).max(MAX_FULL_NAME),
    bio: z.string().max(MAX_BIO),
    /** Hue of the avatar, from 0 to 359. */
    hue: z.int().min(0).max(359),
    joined: z.date(),
    /** True for a sample person, who has no account: every visitor may sign in as this person. */
    sample: z.boolean().optional(),
  }),
  indexes: {
    /** Finds a person by the name in an address, or at sign-in, and keeps names unique. */
    byName: { by: [{ name: 'string' }], unique: true },
    /** Lists all people, oldest member first. */
    byTime: { by: [{ joined: 'time' }], shardOn: 'id' },
  },
})

export type Person = ItemOf<typeof Person>
