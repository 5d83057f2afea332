import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { List } from '../site/lists.ts'

export function personByName({ people }: SiteData, name: string): Promise<Person | undefined> {
  return people.byName.first({ name: name.toLowerCase() })
}

/** Compares letters without case and accents. */
const letters = new Intl.Collator('en', { sensitivity: 'base' })

/** Returns all people with this full name, compared without case and accents. Reads the whole list of people. */
export async function peopleInFull(data: SiteData, fullName: string): Promise<readonly Person[]> {
  const found: Person[] = []
  let cursor: string | undefined
  do {
    const page = await listPeople(data, cursor)
    found.push(...page.items.filter(({ full_name }) => letters.compare(full_name, fullName) === 0))
    cursor = page.cursor
  } while (cursor !== undefined)
  return found
}

/** Returns all people, oldest member first. */
export function listPeople({ people }: SiteData, cursor?: string): Promise<List<Person>> {
  return people.byTime.page({}, { limit: 60, cursor, scatter: true })
}
