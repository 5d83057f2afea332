import type { Import } from '../../kinds/import.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { List } from '../site/lists.ts'
import { SKIP } from '../site/partial-reads.ts'

/** Returns a person's imports that created something, newest first. */
export function importsOf({ imports }: SiteData, personId: string, cursor?: string): Promise<List<Import>> {
  return imports.byPerson.page({ person_id: personId }, { order: 'desc', limit: 10, cursor, ...SKIP })
}
