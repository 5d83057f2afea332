import type { Link } from '@looseleaf/console/kit'
import type { Bag } from 'looseleaf'
import { Entry } from '../kinds/entry.ts'
import { Person } from '../kinds/person.ts'
import { Source } from '../kinds/source.ts'

/** Returns a link to the page of the site that shows an entity; undefined for an entity without a page. */
export function pageOf(bag: Bag, id: string): Link | undefined {
  switch (bag['_kind']) {
    case Entry.name:
      return { href: `/entries/${id}`, label: 'This entry on the site' }
    case Person.name:
      return { href: `/people/${String(bag['name'])}`, label: 'This person on the site' }
    case Source.name:
      return { href: `/sources/${id}`, label: 'This source on the site' }
    default:
      return undefined
  }
}
