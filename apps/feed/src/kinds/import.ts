import { defineKind, typed, type Item } from 'looseleaf'

/** An imported file. Entities that it created have its id as `import_id`. */
interface ImportProperties {
  readonly person_id: string | undefined
  readonly title: string
  readonly format: string
  /** Numbers of entities that it created and that were not deleted by an undo. Both are 0 until the import has ended. */
  readonly entries: number
  readonly sources: number
  readonly imported: Date
}

export const Import = defineKind('import', {
  schema: typed<ImportProperties>(),
  indexes: { byPerson: { by: [{ person_id: { type: 'uuid', nulls: 'skip' } }, { imported: 'time' }] } },
})

export type Import = Item<ImportProperties>
