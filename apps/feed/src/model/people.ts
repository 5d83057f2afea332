import type { Person } from './entities.ts'
import type { List, Reader } from './reader.ts'

export async function personByName(reader: Reader, name: string): Promise<Person | undefined> {
  const { items } = await reader.page(reader.data.people.byName, { name: name.toLowerCase() }, { limit: 1 })
  return items[0]
}

/** Letters as people type them: in any case, and without their accents. */
const letters = new Intl.Collator('en', { sensitivity: 'base' })

/** Those whose name in full this is: nobody, somebody, or several. */
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

/** Everybody, those who joined first at the top. */
export function listPeople(reader: Reader, cursor?: string): Promise<List<Person>> {
  return reader.page(reader.data.people.byTime, {}, { order: 'asc', limit: 60, cursor, scatter: true })
}
