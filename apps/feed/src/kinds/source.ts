import { defineKind, typed, type Item } from 'looseleaf'

interface SourceProperties {
  readonly title: string
  /** Description in a few words. */
  readonly about: string
  readonly link: string | undefined
  readonly feed_link: string | undefined
  readonly person_id: string | undefined
  /** See `namesOfSource`. */
  readonly known_as: readonly string[]
  /** The import that created it. */
  readonly import_id?: string | undefined
  readonly added: Date
}

export const Source = defineKind('source', {
  schema: typed<SourceProperties>(),
  indexes: {
    byTime: { by: [{ added: 'time' }], shardOn: 'id' },
    byPerson: { by: [{ person_id: { type: 'uuid', nulls: 'skip' } }, { added: 'time' }] },
    /** Finds the source of a feed by any of its names. There is a row per name. */
    byName: { by: [{ known_as: 'string[]' }] },
    byImport: { by: [{ import_id: { type: 'uuid', nulls: 'skip' } }] },
  },
})

export type Source = Item<SourceProperties>
