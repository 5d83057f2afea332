import { defineKind, typed, type Item } from 'looseleaf'

interface PersonProperties {
  /** Name in addresses and for signing in: lower case letters, digits and hyphens. */
  readonly name: string
  readonly full_name: string
  readonly bio: string
  /** Hue of the avatar, from 0 to 359. */
  readonly hue: number
  readonly joined: Date
}

export const Person = defineKind('person', {
  schema: typed<PersonProperties>(),
  indexes: {
    /** Finds a person by the name in an address, or at sign-in. */
    byName: { by: [{ name: 'string' }] },
    /** Lists all people, oldest member first. */
    byTime: { by: [{ joined: 'time' }], shardOn: 'id' },
  },
})

export type Person = Item<PersonProperties>
