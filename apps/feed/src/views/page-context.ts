import type { Person } from '../model/entities.ts'
import type { PageCost } from '../model/page-cost.ts'

/** What every view knows of the request that it answers. */
export interface PageContext {
  /** Who is signed in. */
  readonly viewer: Person | undefined
  /** Somebody is signed in, and it is not known who: the page is about a store that does not answer. */
  readonly unknownViewer: boolean
  /** Goes into every form; a form that comes back without it is refused. */
  readonly token: string
  /** The address of this page, where a button of it leads back to: always one that can be looked at again. */
  readonly path: string
  /** An id for what a form will write, so that it is written once however often the form is sent. */
  newId(near?: string): string
  readonly now: Date
  readonly cost: PageCost
  /** The address of what this page took of the databases; undefined where that is shown to nobody. */
  xray(): string | undefined
  /** The address of what the form took that led to this page; undefined where none did, or nobody is to see it. */
  readonly formXray: string | undefined
  /** The address of the window into the store; undefined where nobody is to look into it. */
  readonly window: string | undefined
  /** The style sheet's address, with its version. */
  readonly styles: string
}
