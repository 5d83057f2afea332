import { z } from 'zod'
import { messageForm } from '../home/form.ts'

/** The form that changes a message. */
export const editForm = messageForm.omit({ once: true }).extend({
  /** The edition of the message that the form shows. */
  edition: z.string(),
})
