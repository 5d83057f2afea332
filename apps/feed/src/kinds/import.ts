import { defineKind, type ItemOf } from 'looseleaf'
import { z } from 'zod'

/** An imported file. Entities that it created have its id as `import_id`. */
export const Import = defineKind('import', {
  schema: z.object({
    /** Absent for an import by the command line without a person. */
    person_id: z.uuid().optional(),
    title: z.string(),
    format: z.string(),
    /** Numbers of entities that it created and that were not deleted by an undo. Both are 0 until the import has ended. */
    entries: z.int().nonnegative(),
    sources: z.int().nonnegative(),
    imported: z.date(),
    /** Beginning of the first undo. An import that runs stops when it sees it. */
    undone: z.date().optional(),
  }),
  indexes: { byPerson: { by: [{ person_id: { type: 'uuid', nulls: 'skip' } }, { imported: 'time' }] } },
})

export type Import = ItemOf<typeof Import>
