import { isLooseleafError, unset } from 'looseleaf'
import { accountId, type Account } from '../../kinds/account.ts'
import { homeId } from '../../kinds/home.ts'
import type { Person } from '../../kinds/person.ts'
import type { SiteData } from '../../kinds/site-data.ts'
import { normalAddress, normalName } from './names.ts'
import { hashPassword, isOutdated, isPassword, PASSWORD_LENGTH } from './passwords.ts'
import { isOvertaken } from '../site/overtaken.ts'

export interface NewMember {
  readonly name: string
  readonly full_name: string
  readonly address: string | undefined
  readonly password: string
}

/** A property that another person has already. */
export type Taken = 'name' | 'address'

/** A person whose password was verified, with the account that has it. */
export interface Member {
  readonly person: Person
  readonly account: Account
}

/** Creates a person and the account, or neither. Returns the property that another person has, if any. */
export async function join(data: SiteData, member: NewMember, now: Date): Promise<Member | Taken> {
  const { name, full_name, address } = member
  const password = await hashPassword(member.password)
  const id = data.people.store.newId()
  const hue = Number.parseInt(id.slice(-4), 16) % 360
  try {
    const [person, account] = await data.people.store.batch([
      data.people.writes.insert({ name, full_name, bio: '', hue, joined: now }, { id }),
      data.accounts.writes.insert(
        { person_id: id, ...(address !== undefined && { address }), password, changed: now },
        { id: accountId(id) },
      ),
    ])
    return { person, account }
  } catch (error) {
    return takenBy(data, error)
  }
}

/** Returns the property whose unique index refused a write. Throws any other error. */
function takenBy({ accounts }: SiteData, error: unknown): Taken {
  if (!isLooseleafError(error, 'DUPLICATE_KEY')) throw error
  return error.index === accounts.byAddress.definition.name ? 'address' : 'name'
}

/**
 * Finds a member by name or address, and verifies the password. Returns undefined for an unknown name as for a wrong password and for a
 * person who `mayTry` refuses, after the same time. A hash with outdated parameters is replaced.
 */
export async function verifyMember(
  data: SiteData,
  nameOrAddress: string,
  password: string,
  mayTry: (personId: string) => Promise<boolean> = async () => true,
): Promise<Member | undefined> {
  if (password === '' || password.length > PASSWORD_LENGTH.max) return undefined
  const found = await findMember(data, nameOrAddress)
  const isAllowed = found !== undefined && (await mayTry(found.person.id))
  const isRight = await isPassword(password, found?.account.password)
  if (found === undefined || !isAllowed || !isRight) return undefined
  if (!isOutdated(found.account.password)) return found
  const hash = await hashPassword(password)
  try {
    return { ...found, account: await data.accounts.update(found.account, { password: hash }) }
  } catch (error) {
    // Another sign-in has replaced it, the password has changed, or the account is deleted, since it was read.
    if (isOvertaken(error)) return verifyMember(data, nameOrAddress, password, mayTry)
    throw error
  }
}

async function findMember(data: SiteData, nameOrAddress: string): Promise<Member | undefined> {
  const isAddress = nameOrAddress.includes('@')
  const person = isAddress ? undefined : await data.people.byName.first({ name: normalName(nameOrAddress) })
  const account = isAddress
    ? await data.accounts.byAddress.first({ address: normalAddress(nameOrAddress) })
    : person && (await data.accounts.get(accountId(person.id)))
  if (account === undefined) return undefined
  const owner = person ?? (await data.people.get(account.person_id))
  return owner && { person: owner, account }
}

/** Returns the account of a person if this is the password; undefined otherwise, and for a sample person. */
async function accountIf(data: SiteData, personId: string, password: string): Promise<Account | undefined> {
  const account = await data.accounts.get(accountId(personId))
  return (await isPassword(password, account?.password)) ? account : undefined
}

/**
 * Changes the password and ends all other sessions of the person. Returns false if the current password is another one.
 * A sign-in with the old password that is under way fails, because its session is written only with the account that it verified.
 */
export async function changePassword(
  data: SiteData,
  personId: string,
  passwords: { readonly current: string; readonly next: string },
  { now, keepSession }: { readonly now: Date; readonly keepSession: string | undefined },
): Promise<boolean> {
  const account = await accountIf(data, personId, passwords.current)
  if (account === undefined) return false
  await data.accounts.update(account, { password: await hashPassword(passwords.next), changed: now })
  const sessions = await data.sessions.byPerson.all({ person_id: personId })
  await data.sessions.deleteMany(sessions.map(({ id }) => id).filter((id) => id !== keepSession))
  return true
}

/** Changes or removes the address of a person. Returns `taken` if another account has it, and `wrong password`. */
export async function changeAddress(
  data: SiteData,
  personId: string,
  { address, password }: { readonly address: string | undefined; readonly password: string },
): Promise<'changed' | 'taken' | 'wrong password'> {
  const account = await accountIf(data, personId, password)
  if (account === undefined) return 'wrong password'
  try {
    await data.accounts.update(account, { address: address ?? unset })
    return 'changed'
  } catch (error) {
    if (isLooseleafError(error, 'DUPLICATE_KEY')) return 'taken'
    throw error
  }
}

export async function changeProfile(
  { people }: SiteData,
  personId: string,
  profile: Pick<Person, 'full_name' | 'bio'>,
): Promise<void> {
  await people.update(personId, profile)
}

/**
 * Deletes a person with the account, the sessions, the home page and all follows and services. Entries, comments and likes stay, under
 * “a former member”; the name becomes free. Returns false if the password is another one. Can be called again after an interruption.
 */
export async function deleteMember(data: SiteData, personId: string, password: string): Promise<boolean> {
  const account = await accountIf(data, personId, password)
  if (account === undefined) return false
  // The person and the account go last, so that an interrupted deletion can be asked for again.
  await deleteTraces(data, personId)
  await data.people.store.batch([
    data.people.writes.delete(personId),
    data.accounts.writes.delete(account.id),
    data.homes.writes.delete(homeId(personId)),
  ])
  // The sessions are without a person already. Other traces have come meanwhile.
  await Promise.all([
    data.sessions.byPerson.deleteWhere({ person_id: personId }),
    deleteTraces(data, personId),
  ])
  return true
}

/** Deletes all follows and services of a person, the follows by others, and the home page. */
async function deleteTraces({ follows, services, inbox }: SiteData, personId: string): Promise<void> {
  await Promise.all([
    follows.byPerson.deleteWhere({ person_id: personId }),
    follows.byChannel.deleteWhere({ channel_id: personId }),
    services.byPerson.deleteWhere({ person_id: personId }),
    inbox.byPerson.deleteWhere({ person_id: personId }),
  ])
}
