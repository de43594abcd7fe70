"""Themes of level 1 by a classifier that is trained on a desk's labels.

features     what it reads of an article: stems, evidence for the taxonomy's themes, and the
             text to embed
classifier   probabilities of themes, with numpy alone
training     fits it and measures it, with scikit-learn
examples     the labelled articles of a desk
"""
