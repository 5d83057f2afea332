import type { z } from 'zod'

/** A checked form: its values, or a message for each wrong field. */
export type CheckedForm<Values> =
  | { readonly values: Values; readonly errors?: undefined }
  | { readonly values?: undefined; readonly errors: Readonly<Record<string, string>> }

/** Checks the fields of a form by its schema. A missing field counts as an empty one. */
export function checkForm<Schema extends z.ZodObject>(
  schema: Schema,
  fields: Readonly<Record<string, string>>,
): CheckedForm<z.output<Schema>> {
  const sent = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, fields[name] ?? '']))
  const { success, data, error } = schema.safeParse(sent)
  if (success) return { values: data }
  const errors: Record<string, string> = {}
  // The first message of a field is the most basic one.
  for (const { path, message } of error.issues) errors[String(path[0])] ??= message
  return { errors }
}
