import { markup, type Html } from './html.ts'

/** What was left out of a list, if anything was; see `cut`. */
export const noteOf = (note: string): Html | undefined =>
  note === '' ? undefined : markup`<p class="soft">${note}</p>`

/** A text that is broken where its column is narrow. */
export const long = (text: string | Html): Html => markup`<span class="long">${text}</span>`

/** A time, which is broken before its hours where its column is narrow. */
export const moment = (text: string): Html => markup`<span class="when">${text}</span>`

/** What stands at the right of its column, where all of the column is like that. */
const NUMBER = /^(–|none|(up to )?[\d,.]+( or more)?( (ms|s|min|bytes|KiB|MiB|GiB|TiB))?( ago)?)$/

/** A table that scrolls by itself where it is too wide, and whose first cells name their rows; `label` says what it is of. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (Html | string)[])[],
  label: string,
): Html {
  const numbers = head.flatMap((_, i) =>
    i > 0 && rows.length > 0 && rows.every((row) => typeof row[i] === 'string' && NUMBER.test(row[i]))
      ? `n${i}`
      : [],
  )
  return markup`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table${numbers.length === 0 ? undefined : markup` class="${numbers.join(' ')}"`}><thead><tr>${head.map((cell) => markup`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${row.map((cell, i) => (i === 0 ? markup`<th scope="row">${cell}</th>` : markup`<td>${cell}</td>`))}</tr>\n`)}</tbody></table></div>`
}
