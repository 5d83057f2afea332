import { accountId } from '../../kinds/account.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { List } from '../site/lists.ts'
import { SKIP, Unreadable } from '../site/partial-reads.ts'

/** Returns the person with this name; undefined if there is none. Rejects with `Unreadable` if a shard does not answer that has the name. */
export async function personByName({ people }: SiteData, name: string): Promise<Person | undefined> {
  const { items, cost } = await people.byName.page({ name: name.toLowerCase() }, { limit: 1, ...SKIP })
  if (items.length === 0 && cost.missingShards !== undefined) throw new Unreadable('person')
  return items[0]
}

/** Returns all people, oldest member first. */
export function listPeople({ people }: SiteData, cursor?: string): Promise<List<Person>> {
  return people.byTime.page({}, { limit: 60, cursor, scatter: true, ...SKIP })
}

/** Returns the e-mail address of a person's account; undefined without one. */
export async function addressOf({ accounts }: SiteData, personId: string): Promise<string | undefined> {
  return (await accounts.get(accountId(personId)))?.address
}
