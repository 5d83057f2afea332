import type { Import } from '../../kinds/import.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { List } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'

/** Properties of an import that are known at its start. */
export type NewImport = Pick<Import, 'person_id' | 'title' | 'format'>

/** An import in progress. */
export interface ImportRecord {
  readonly id: string
  /** Writes the import's entity, once. Has to resolve before any entity with its id as `import_id` is written. */
  begin(): Promise<unknown>
  /**
   * Writes the numbers of created entities. Does nothing if `begin` was never called. Writes the import again if it was undone meanwhile,
   * because entities that came later have its id.
   */
  end(created: { readonly entries: number; readonly sources: number }): Promise<void>
}

export function createImportRecord({ imports }: SiteData, about: NewImport, now: Date): ImportRecord {
  const id = imports.store.newId()
  const first = { ...about, imported: now, entries: 0, sources: 0 }
  let begun: Promise<unknown> | undefined
  return {
    id,
    begin: () => (begun ??= imports.insert(first, { id })),
    async end(created) {
      if (begun !== undefined) await imports.upsert(id, { ...first, ...created }, created)
    },
  }
}

/** Returns a person's imports that created something, newest first. */
export function importsOf({ imports }: SiteData, personId: string, cursor?: string): Promise<List<Import>> {
  return imports.byPerson.page({ person_id: personId }, { order: 'desc', limit: 10, cursor, ...SKIP })
}
