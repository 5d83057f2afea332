import { markup, type Html } from './html.ts'

/** Renders the note of `cut` about hidden items; undefined for an empty note. */
export const noteOf = (note: string): Html | undefined =>
  note === '' ? undefined : markup`<p class="soft">${note}</p>`

/** Renders a text that wraps in a narrow column. */
export const long = (text: string | Html): Html => markup`<span class="long">${text}</span>`

/** Renders a time that wraps before its hours in a narrow column. */
export const moment = (text: string): Html => markup`<span class="when">${text}</span>`

/** Cells that are numbers, or empty. A column with only such cells is aligned to the right. */
const NUMBER =
  /^(|–|none|no calls|1 byte|(up to )?[\d,.]+( or more)?( (ms|s|min|h|days|bytes|kB|MB|GB|TB))?( ago)?)$/

/** Renders a table that scrolls on its own if it is too wide. The first cell of a row is its header. `label` is for screen readers. */
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
