import { accountId } from '../../kinds/account.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import type { List } from '../site/lists.ts'

export function personByName({ people }: SiteData, name: string): Promise<Person | undefined> {
  return people.byName.first({ name: name.toLowerCase() })
}

/** Returns all people, oldest member first. */
export function listPeople({ people }: SiteData, cursor?: string): Promise<List<Person>> {
  return people.byTime.page({}, { limit: 60, cursor, scatter: true })
}

/** Returns the e-mail address of a person's account; undefined without one. */
export async function addressOf({ accounts }: SiteData, personId: string): Promise<string | undefined> {
  return (await accounts.get(accountId(personId)))?.address
}
