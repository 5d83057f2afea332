import { z } from 'zod'
import { textField } from '../../http/text-field.ts'
import { webLink } from '../../text/web-link.ts'

export const MAX_MESSAGE_LENGTH = 500

/** The form of a message. */
export const messageForm = z.object({
  title: textField('A message', MAX_MESSAGE_LENGTH),
  link: z.string().transform((typed, { addIssue }) => {
    const text = typed.trim()
    if (text === '') return undefined
    // People often leave out the scheme of an address.
    const link = webLink(/^[a-z][a-z0-9+.-]*:/i.test(text) ? text : `https://${text}`)
    if (link === undefined || /\s/.test(text))
      addIssue('The link has to be the address of a page, such as https://example.org/page.')
    return link
  }),
  /** Id of the new entry. */
  once: z.string(),
})
