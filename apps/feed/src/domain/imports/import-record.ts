import { unchanged } from 'looseleaf'
import type { Import } from '../../kinds/import.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { undoImport } from './undo-import.ts'
import { isGone } from '../site/unless-there.ts'

/** Properties of an import that are known at its start. */
export type NewImport = Pick<Import, 'person_id' | 'title' | 'format'>

/** Ends an import that its owner has undone meanwhile, perhaps by another process. */
export class ImportUndone extends Error {
  override readonly name = 'ImportUndone'
}

/** An import in progress. */
export interface ImportRecord {
  readonly id: string
  /**
   * Writes the import's entity at the first call, and checks it from then on. Has to resolve before any entities with its id as `import_id`
   * are written.
   */
  begin(): Promise<void>
  /** Throws `ImportUndone` if the import was undone. Does nothing before `begin`. */
  check(): Promise<void>
  /**
   * Writes the numbers of created entities. Throws `ImportUndone` if the import was undone; an undo that comes later finds all of them. Does
   * nothing if `begin` was never called.
   */
  end(created: { readonly entries: number; readonly sources: number }): Promise<void>
  /** Undoes the entities that were written after the undo had looked for them. */
  undoRest(): Promise<void>
}

export function createImportRecord(data: SiteData, about: NewImport, now: Date): ImportRecord {
  const { imports } = data
  const id = imports.store.newId()
  const first = { ...about, imported: now, entries: 0, sources: 0 }
  let begun: Promise<unknown> | undefined

  async function check(): Promise<void> {
    if (begun === undefined) return
    const stored = await imports.get(id)
    if (stored === undefined || stored.undone !== undefined) throw new ImportUndone()
  }

  return {
    id,
    async begin() {
      if (begun !== undefined) return check()
      begun = imports.insert(first, { id })
      await begun
    },
    check,
    async end(created) {
      if (begun === undefined) return
      try {
        await imports.update(id, ({ undone }) => {
          if (undone !== undefined) throw new ImportUndone()
          return created
        })
      } catch (error) {
        throw isGone(error) ? new ImportUndone() : error
      }
    },
    async undoRest() {
      if (about.person_id === undefined) return
      await imports.upsert(id, { ...first, undone: now }, () => unchanged)
      await undoImport(data, id, about.person_id)
    },
  }
}
