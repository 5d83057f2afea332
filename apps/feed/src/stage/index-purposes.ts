import type { Purposes } from '@looseleaf/console/kit'
import { sampleEntryId } from '../day/sample/sample-entities.ts'

/** An entry of the sample that is on the home page and whose link others share. */
const SHARED = sampleEntryId('greta', 'Somebody has knitted a barograph. I have never felt so understood.')

/** Descriptions for the window of the indexes that can be added or broken there. */
export const indexPurposes: Purposes = {
  entry_by_link: {
    text: 'It finds the entries that share a link. While the site has it, the page of such an entry ends with “Also shared by …”, and a home page shows each link once; without it, pages leave that out.',
    page: { href: `/entries/${SHARED}`, label: 'an entry of the sample whose link others have shared' },
  },
  entry_by_time: {
    text: 'The page of everything, which visitors see first, reads its newest rows.',
    page: { href: '/everything', label: 'the page of everything' },
  },
  person_by_time: {
    text: 'The list of people reads all of it.',
    page: { href: '/people', label: 'the list of people' },
  },
}
