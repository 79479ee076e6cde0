// A click that filters the questions: the word goes into the query, or out of it where it is there already.

import { go, place } from "./nav";
import { toggled } from "./query";

export const filterBy = (word: string): void => go({ q: toggled(place().q, word) });
