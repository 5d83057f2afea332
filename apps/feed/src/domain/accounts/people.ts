import type { Person } from '../../kinds/person.ts'
import type { List, Reader } from '../site/reader.ts'

export async function personByName(reader: Reader, name: string): Promise<Person | undefined> {
  const { items } = await reader.page(reader.data.people.byName, { name: name.toLowerCase() }, { limit: 1 })
  return items[0]
}

/** Compares letters without case and accents. */
const letters = new Intl.Collator('en', { sensitivity: 'base' })

/** Returns all people with this full name, compared without case and accents. Reads the whole list of people. */
export async function peopleInFull(reader: Reader, fullName: string): Promise<readonly Person[]> {
  const found: Person[] = []
  let cursor: string | undefined
  do {
    const page = await listPeople(reader, cursor)
    found.push(...page.items.filter(({ full_name }) => letters.compare(full_name, fullName) === 0))
    cursor = page.cursor
  } while (cursor !== undefined)
  return found
}

/** Returns all people, oldest member first. */
export function listPeople(reader: Reader, cursor?: string): Promise<List<Person>> {
  return reader.page(reader.data.people.byTime, {}, { order: 'asc', limit: 60, cursor, scatter: true })
}
