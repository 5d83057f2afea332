import { defineKind, type ItemOf } from 'looseleaf'
import { z } from 'zod'

const noticeLine = z.object({
  text: z.string(),
  refused: z.boolean(),
  /** Address of a page with more about it; empty for no link. */
  href: z.string(),
  label: z.string(),
})

/** Result of a form, for the page that its sender is redirected to. It stays with the session until the next notice replaces it. */
const notice = z.object({
  /** The act, and the thing that it was done to. */
  title: z.string(),
  about: z.string(),
  lines: z.array(noticeLine).readonly(),
})

/** A signed-in browser. Its id is a digest of the cookie, so that the stored entity signs nobody in. */
export const Session = defineKind('session', {
  schema: z.object({
    person_id: z.uuid(),
    signed_in: z.date(),
    /** Time of the last renewal, at most a day before the last request. */
    seen: z.date(),
    expires: z.date(),
    /** Browser and system, such as "Firefox on Linux". */
    browser: z.string(),
    notice: notice.optional(),
  }),
  near: 'person_id',
  expires: 'expires',
  /** Lists the sessions of a person. */
  indexes: { byPerson: { by: [{ person_id: 'uuid' }, { signed_in: 'time' }] } },
})

export type Session = ItemOf<typeof Session>
export type Notice = z.infer<typeof notice>
export type NoticeLine = z.infer<typeof noticeLine>
