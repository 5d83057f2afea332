import type { Person } from './entities.ts'
import type { List, Reader } from './reader.ts'

export async function personByName(reader: Reader, name: string): Promise<Person | undefined> {
  const { items } = await reader.page(reader.data.people.byName, { name: name.toLowerCase() }, { limit: 1 })
  return items[0]
}

/** Everybody, those who joined first at the top. */
export function listPeople(reader: Reader, cursor?: string): Promise<List<Person>> {
  return reader.page(reader.data.people.byTime, {}, { order: 'asc', limit: 60, cursor, scatter: true })
}
