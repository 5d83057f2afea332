import { z } from 'zod'
import { textField } from '../../http/forms/text-field.ts'
import { typedLink } from '../../text/web-link.ts'

export const MAX_MESSAGE_LENGTH = 500

/** The form of a message. */
export const messageForm = z.object({
  title: textField('A message', MAX_MESSAGE_LENGTH),
  link: z.string().transform((typed, { addIssue }) => {
    if (typed.trim() === '') return undefined
    const link = typedLink(typed)
    if (link === undefined)
      addIssue('The link has to be the address of a page, such as https://example.org/page.')
    return link
  }),
  /** Id of the new entry. */
  once: z.string(),
})
