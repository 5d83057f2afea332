import { z } from 'zod'
import { textField } from '../../http/forms/text-field.ts'

export const MAX_COMMENT_LENGTH = 2000

/** The form of a comment. */
export const commentForm = z.object({
  text: textField('A comment', MAX_COMMENT_LENGTH),
  /** Id of the new comment. */
  once: z.string(),
})
