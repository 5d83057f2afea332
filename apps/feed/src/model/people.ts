import { asPerson, type Person } from './entities.ts'
import { peopleByName, peopleByTime } from './indexes.ts'
import type { List, Reader } from './reader.ts'

export async function personByName(reader: Reader, name: string): Promise<Person | undefined> {
  const { items } = await reader.list(peopleByName, { name: name.toLowerCase() }, asPerson, { limit: 1 })
  return items[0]
}

export async function personById(reader: Reader, id: string): Promise<Person | undefined> {
  return asPerson(await reader.get(id))
}

/** These people by their ids, in one read; whoever is gone is not among them. */
export async function peopleById(reader: Reader, ids: Iterable<string>): Promise<Map<string, Person>> {
  const people = (await reader.getMany([...new Set(ids)])).map(asPerson)
  return new Map(people.filter((person) => person !== undefined).map((person) => [person.id, person]))
}

/** Everybody, those who joined first at the top. */
export function listPeople(reader: Reader, cursor?: string, limit = 60): Promise<List<Person>> {
  const where = { kind: 'person' } as const
  return reader.list(peopleByTime, where, asPerson, { order: 'asc', limit, cursor, scatter: true })
}
